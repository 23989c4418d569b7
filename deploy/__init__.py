"""What installs, runs and shows the product; not part of the wheel."""
