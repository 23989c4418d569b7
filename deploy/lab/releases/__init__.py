"""The releases of Pulsar that clusters of the lab can run.

versions   which there are, and in what they differ for the lab
assembled  their homes: a distribution, or one that is put together of jars

Where all other software comes from is :mod:`deploy.lab.software`.
"""
