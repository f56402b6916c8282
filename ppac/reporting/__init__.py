"""Tables, significance, figures and the page."""
