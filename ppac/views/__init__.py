"""What folders of pipelines/ that train nothing show of another's report, one file each."""
