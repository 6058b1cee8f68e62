"""As much of torchvision as the peer calls, on Pillow: same names, same signatures.

For machines where torchvision is not installed. Nothing is ever measured against it but in tests.
"""
