"""OTLP in: what other agents export, read into reports of turns, calls and tools.

body -- protobuf.py or JSON --> model.py --> records.py --> mapping.py with emitters/ --> reports.py
"""
