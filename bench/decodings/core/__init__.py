"""What every decoding stands on."""
