"""What earlier runs did, and where a model comes from. No TensorFlow here: it answers at once."""
