"""A small variational autoencoder over SELFIES: an example of a latent model with another architecture.

orchestrator/docs/operate/LATENT.md has its commands in order.
"""
