"""The page that shows what a study found, made from its tables alone.

Nothing here touches weights or imports torch, so a report can be made anywhere a store is read.
"""
