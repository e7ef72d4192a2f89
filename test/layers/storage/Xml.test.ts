import { assert, describe, it } from "vitest"
import { children, childText, parseXml, xmlText } from "../../../src/layers/storage/endpoint/Xml.ts"

const refusal = (run: () => unknown) => {
  try {
    run()
  } catch (cause) {
    return (cause as { readonly code: string }).code
  }
  return "accepted"
}

describe("XML documents", () => {
  it("have elements, text, entities, CDATA, comments and namespaces", () => {
    const text = `\uFEFF<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment with <tags> -->
<s3:Delete xmlns:s3="http://s3.amazonaws.com/doc/2006-03-01/" a = 'it"s'>
  <Object><Key>a&amp;b&#x20;&#233;&lt;&quot;&apos;&gt;</Key></Object >
  <Object><Key><![CDATA[<raw>&amp;]]> and more</Key><Empty/></Object>
  <Quiet  />
</s3:Delete>
`
    const root = parseXml(text, "Delete")
    const keys = children(root, "Object").map((node) => childText(node, "Key"))
    assert.deepStrictEqual(keys, ["a&b é<\"'>", "<raw>&amp; and more"])
    assert.strictEqual(childText(root, "Quiet"), "")
    assert.isUndefined(childText(root, "Missing"))
    assert.strictEqual(parseXml("<a> x\r\ny </a>", "a"), " x\ny ")
    for (const name of ["__proto__", "constructor", "toString"]) {
      assert.deepStrictEqual(children(parseXml("<a><b/></a>", "a"), name), [])
      assert.strictEqual(childText(parseXml(`<a><${name}>x</${name}></a>`, "a"), name), "x")
    }
  })

  it.each([
    "",
    "text",
    "<b/>",
    "<a>",
    "</a>",
    "<a></b>",
    "<a></a></a>",
    "<a/><a/>",
    "<a/><b/>",
    "<a/>text",
    "<a",
    "<a b></a>",
    "<a b=c></a>",
    "<a><!-- </a>",
    "<a><![CDATA[ </a>",
    "<a>&unknown;</a>",
    "<a>&#xd800;</a>",
    "<a>&#99999999;</a>",
    "<!DOCTYPE a><a/>",
    '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
    `${"<a>".repeat(40)}${"</a>".repeat(40)}`
  ])("are refused: %s", (text) => {
    assert.strictEqual(
      refusal(() => parseXml(text, "a")),
      "MalformedXML"
    )
  })

  it("are refused where text is expected and elements are found, or one element and several", () => {
    const root = parseXml("<a><b><c/></b><d/><d/></a>", "a")
    assert.strictEqual(
      refusal(() => childText(root, "b")),
      "MalformedXML"
    )
    assert.strictEqual(
      refusal(() => childText(root, "d")),
      "MalformedXML"
    )
    assert.strictEqual(
      refusal(() => xmlText(root)),
      "MalformedXML"
    )
  })
})
