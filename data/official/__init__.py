"""Files as the authors of data sets publish them: downloaded or local, checked, read safely."""
