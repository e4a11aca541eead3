"""Preparation: from what a connector read to a frame that rules and write modes can use."""
