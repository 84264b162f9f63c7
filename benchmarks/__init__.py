"""Time to a stated excess: problems × libraries, one judge. Run `make bench`."""
