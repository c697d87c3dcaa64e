"""The Trainer: models, losses, gradients, optimizers and the training loop."""
