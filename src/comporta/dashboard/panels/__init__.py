"""One panel is two files of one name: a function from what is known to what is shown, pure, and the script that draws it and decides nothing.

Only the page may import them; a new panel is those two files, a line in `page.PANELS` and a place in `page.css`.
"""
