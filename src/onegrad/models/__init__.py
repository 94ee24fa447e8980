"""The network and its equivalent models as feature maps, and the registry of models.

May import: all folders above. Read first: `feature_map.py`.
"""
