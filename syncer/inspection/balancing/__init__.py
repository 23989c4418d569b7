"""Questions about a cluster's load balancing, and their answers, by command line and REST alike.

questions    what may be asked
looking      the picture of a cluster that every answer begins with
answering    answers, of a picture alone
plans        the moves that were advised, as a plan that can be kept
child        tasks of a process apart, and its answers
performing   that process
"""
