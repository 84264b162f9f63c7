"""Estimators, a folder for each family. Their names are also those of `gapless` itself."""
