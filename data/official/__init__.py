"""Files as the authors of data sets publish them: fetched or taken, checked, and read safely."""
