"""Starting several processes of one script, watching them, and ending them together."""
