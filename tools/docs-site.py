"""What `make docs` does to pages before mkdocs takes them (mkdocs.yml, hooks).

Links to files outside docs/ and to folders work where the sources are read, and have no target on
the site: there they become the path as text.
"""
import os
import re

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown, page, config, **_):
    folder = os.path.dirname(page.file.abs_src_path)

    def replace(found):
        text, target = found[1], os.path.normpath(os.path.join(folder, found[2]))
        if target.startswith(config["docs_dir"] + os.sep) and os.path.isfile(target):
            return found[0]
        path = os.path.relpath(target, os.path.dirname(config["docs_dir"]))
        return text if text.strip("`") == path else f"{text} (`{path}`)"

    return LINK.sub(replace, markdown)
