"""What the conformance kit asks of its own example: tools, files and prompts of these names, behind our door."""

from __future__ import annotations

import base64

from mcp import types
from mcp.server.mcpserver import MCPServer
from mcp.types import AudioContent, EmbeddedResource, ImageContent, TextContent, TextResourceContents

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()
IMAGE = ImageContent(data=PIXEL, mime_type="image/png")


def text(said):
    return TextContent(text=said)


def resource(uri, said, media="text/plain"):
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=media, text=said))


def message(content):
    return {"role": "user", "content": content}


def server():
    """The example."""
    kit = MCPServer("kit")
    _tools(kit)
    _resources(kit)
    _prompts(kit)
    return kit._lowlevel_server


def _tools(kit):
    answers = {
        "test_simple_text": [text("This is a simple text response for testing.")],
        "test_image_content": [IMAGE],
        "test_audio_content": [AudioContent(data=SOUND, mime_type="audio/wav")],
        "test_embedded_resource": [resource("test://embedded-resource", "This is an embedded resource content.")],
        "test_multiple_content_types": [
            text("Multiple content types test:"), IMAGE,
            resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
        ],
    }  # fmt: skip
    for name, content in answers.items():
        _tool(kit, name, content)

    @kit.tool()
    def test_error_handling() -> str:
        raise ValueError("This tool intentionally returns an error for testing")


def _tool(kit, name, content):
    def answer() -> list[types.ContentBlock]:
        return content

    kit.tool(name=name, structured_output=False)(answer)


def _resources(kit):
    @kit.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @kit.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @kit.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


def _prompts(kit):
    @kit.prompt(description="For testing.")
    def test_simple_prompt() -> list[dict]:
        return [message(text("This is a simple prompt for testing."))]

    @kit.prompt(description="For testing.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[dict]:
        return [message(text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @kit.prompt(name="test_prompt_with_embedded_resource", description="For testing.")
    def embedded(resourceUri: str) -> list[dict]:  # noqa: N803 - the kit's name
        return [message(resource(resourceUri, "Embedded resource content for testing.")), message(text("Process it."))]

    @kit.prompt(description="For testing.")
    def test_prompt_with_image() -> list[dict]:
        return [message(IMAGE), message(text("Please analyze the image above."))]

    @kit.completion()
    async def completed(_ref, _argument, _context) -> types.Completion:
        return types.Completion(values=["paris", "park"], total=2, has_more=False)
