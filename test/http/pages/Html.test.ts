import { assert, describe, it } from "@effect/vitest"
import { html, nameText, webLink } from "../../../src/http/pages/Html.ts"

describe("html", () => {
  it("escapes texts, not HTML", () => {
    const piece = html`<b title="${`"'<&>`}">${"</b>"}</b>`
    assert.strictEqual(html`${piece}${undefined}${[piece]}`.html, piece.html.repeat(2))
    assert.strictEqual(piece.html, '<b title="&quot;&#39;&lt;&amp;&gt;">&lt;/b&gt;</b>')
    assert.isTrue(html`${"\ud800"}`.html.isWellFormed())
  })
  it("reduces names to one line without formatting characters", () => {
    assert.strictEqual(nameText(" a\u202eb\u0000\n\u200bc "), "a b c")
    assert.strictEqual(nameText("x".repeat(100)), `${"x".repeat(80)}…`)
    assert.strictEqual(nameText("\u2066\ufeff"), "")
  })
  it("only links to web pages", () => {
    assert.strictEqual(webLink("https://a.example/?b"), "https://a.example/?b")
    for (const url of ["javascript:alert(1)", "data:text/html,x", "//a.example", "", " JaVaScRiPt:1"]) {
      assert.isUndefined(webLink(url), url)
    }
  })
})
