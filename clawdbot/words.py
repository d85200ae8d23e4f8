"""The sentences that the bot says about itself; the marks under an answer are in `clawdbot.delivery.markdown`."""

REFUSED = "I only talk to people I know. The owner of this bot can add you: your number here is {id}."
"""Said once to a stranger. The number lets them ask the owner."""

LOADING = "The model is still loading. Your question is kept and will be answered."
RESTARTING = "The model had to be restarted. Your question is kept and will be answered."
IN_LINE = "You are number {number} in line. Your question is kept and will be answered."
IN_LINE_FOR = "You are number {number} in line, about {seconds} s. Your question is kept and will be answered."

BUSY = "I am still answering here. Ask again when that is done, or send /stop."
FULL = "Too many questions are waiting ({waiting:,}). Please ask again in a minute."
QUEUE_FULL = "{waiting} questions of this conversation are waiting already. Please ask again when they are answered."
SHARE = "{waiting} of your questions are being answered or wait already. Please ask again when some are answered."
TOO_LONG = "That is too long for me: it has {size:,} {unit} and I can read {limit:,}. Please send a shorter part of it."
NOT_KEPT = "I could not store your question, so I cannot answer it. The owner of this bot finds the reason in its log."

NEW = "New conversation: I no longer think of what was said before."
STOPPED = "Stopped."
NOTHING_TO_STOP = "There is nothing to stop."
ADMINS_ONLY = "That is not for everybody."
UNKNOWN_COMMAND = "I do not know /{name}. /help lists what I know."
