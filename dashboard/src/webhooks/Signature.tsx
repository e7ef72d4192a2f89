import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Segments } from "../ui/page/Segments.tsx"
import { copy } from "../ui/toast.ts"

const snippets = {
  "Node.js": `import { createHmac, timingSafeEqual } from "node:crypto"

// body: a Buffer of the bytes as they arrived, before they are parsed.
export const isGenuine = (body, headers, secret) => {
  const given = Buffer.from(headers["x-svc-signature"] ?? "", "hex")
  const expected = createHmac("sha256", secret).update(body).digest()
  return given.length === expected.length && timingSafeEqual(given, expected)
}`,
  Python: `import hashlib
import hmac

# body: the bytes as they arrived, before they are parsed.
def is_genuine(body: bytes, headers, secret: str) -> bool:
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(headers.get("x-svc-signature", ""), expected)`,
  Go: `// body: the bytes as they arrived, before they are parsed.
func isGenuine(body []byte, header http.Header, secret string) bool {
	given, err := hex.DecodeString(header.Get("X-Svc-Signature"))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}`
} as const
type Language = keyof typeof snippets
const languages = (Object.keys(snippets) as ReadonlyArray<Language>).map((name) => [name, name] as const)

/** How a receiver verifies that a delivery is genuine. */
export const Signature = () => {
  const [language, setLanguage] = useState<Language>("Node.js")
  return (
    <details className="signature">
      <summary>How the receiver verifies the signature</summary>
      <div className="signature-head">
        <Segments label="Language" options={languages} value={language} onValue={setLanguage} />
        <Button kind="quiet" icon="copy" onClick={() => void copy(snippets[language], "Snippet")}>
          Copy
        </Button>
      </div>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="code" tabIndex={0} aria-label={`Snippet for ${language}`}>
        {snippets[language]}
      </pre>
      <p className="hint">
        Deliveries also carry the headers of Standard Webhooks, whose libraries verify id and time as well:{" "}
        <code>webhook-id</code>, <code>webhook-timestamp</code>, <code>webhook-signature</code>.
      </p>
    </details>
  )
}
