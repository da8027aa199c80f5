"""What several front ends share. Nothing here imports one of them."""
