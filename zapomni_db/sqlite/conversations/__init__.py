"""Sessions, messages and documents in the file: what they are beyond the memories that hold their texts."""
