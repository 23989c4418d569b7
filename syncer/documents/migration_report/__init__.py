"""The JSON document of a migration's report.

document   its fields
making     it is made of a report
"""
