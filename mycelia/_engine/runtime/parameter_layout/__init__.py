"""Parameters in the layout that programs want: stacked, packed, transposed."""
