"""The commands of `bench`, one file each, and the line that `bench --help` prints of them.

A new command is one file with `options(parser)`, which adds its options to an `argparse.ArgumentParser`, and
`run(given)`, which takes the arguments and returns the exit code; and its line here. `bench --help` reads this table
alone; the file of a command is imported when that command is used. So a file imports at its top only what is light, and
torch, numpy, lightning, rich and yaml inside its functions.
"""

COMMANDS = {
    "run": "train, evaluate and score the runs that are missing",
    "evaluate": "compute the metrics of a task for a model trained elsewhere",
    "report": "show leaderboards of stored runs",
    "compare": "list every setting in which two runs differ",
    "samples": "show generated texts side by side",
    "score": "compute metrics from stored predictions, without a model",
    "list": "list methods, tasks, backbones, metrics, decodings and data",
    "models": "list and download pretrained models",
    "check": "test an objective, task, metric, backbone or decoding",
    "reproduce": "run a table of a paper and show both results",
    "claims": "show what stored runs say about the claims of the papers",
    "human": "export texts for human evaluation and import the answers",
    "import": "score texts that another system generated",
    "store": "show, verify, join and export stored runs",
    "doctor": "check this machine: packages, devices, data and models",
}
