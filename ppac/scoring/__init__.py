"""From a base model and a method to ranked lists."""
