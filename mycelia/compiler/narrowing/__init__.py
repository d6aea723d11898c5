"""Only what is read is computed: windows of axes are cut out before the work, not after it."""
