"""XML of files that nobody vouches for: parsed with entities forbidden."""

from typing import Any

from perfarray.readers.opening import Source


def parsed(source: Source) -> Any:
    """Return the root element of a file.

    Raises
    ------
    FileError
        When it is not well-formed, or defines entities.
    ImportError
        When defusedxml is not installed.
    """
    try:
        from defusedxml.common import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring
    except ImportError as error:
        raise ImportError("XML is read with defusedxml, which is not installed; install perfarray[io]") from error
    try:
        return fromstring(source.text)
    except ParseError as error:
        raise source.error(f"is not well-formed XML: {error}") from None
    except DefusedXmlException as error:
        raise source.error(f"defines entities, which are not read: {error}") from None
