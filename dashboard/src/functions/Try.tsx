import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Choose, Field, Labelled } from "../ui/Field.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { bytes } from "../ui/format.ts"
import { ViewAs } from "../ui/page/ViewAs.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import { service, type Viewer } from "../wire/viewer.ts"
import type { Trial, TrialResult } from "./queries.ts"

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const
type Method = (typeof methods)[number]

/** Characters of a body that are shown at most. */
const most = 20_000

const callerOf = ({ claims, role, sub }: Viewer): NonNullable<Trial["as"]> =>
  role === "authenticated"
    ? { role, ...(sub === "" ? {} : { sub }), claims: JSON.parse(claims) as Readonly<Record<string, unknown>> }
    : { role }

const textOf = ({ body, headers }: TrialResult) => {
  if (typeof body !== "string") return `${bytes(Math.floor((body.base64.length * 3) / 4))} that are no text`
  if (!/\bjson\b/.test(headers["content-type"] ?? "")) return body
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

const Response = ({ result }: { result: TrialResult }) => {
  const text = textOf(result)
  const kind = result.status < 300 ? "good" : result.status < 500 ? "warn" : "bad"
  return (
    <div className="function-response" role="status">
      <p>
        <span className={`badge ${kind}`}>{result.status}</span> <b>{Math.round(result.millis)} ms</b>{" "}
        <span className="soft">request {result.request_id.slice(0, 8)}</span>
      </p>
      <details>
        <summary>{Object.keys(result.headers).length} headers</summary>
        <dl className="facts">
          {Object.entries(result.headers).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="code" tabIndex={0} role="region" aria-label="Body of the response">
        {text.length > most ? `${text.slice(0, most)}…` : text}
      </pre>
    </div>
  )
}

/** A call of the function as any caller, with the response as it is. */
export const Try = ({ name }: { name: string }) => {
  const [method, setMethod] = useState<Method>("POST")
  const [path, setPath] = useState("")
  const [type, setType] = useState("application/json")
  const [body, setBody] = useState(`{"name": "Ann"}`)
  const [viewer, setViewer] = useState<Viewer>(service)
  const [result, setResult] = useState<TrialResult>()
  const hasBody = method !== "GET"
  const { busy, failure, go } = useAction(async () => {
    setResult(undefined)
    setResult(
      await call("POST /api/functions/:name/call", {
        params: { name },
        payload: {
          method,
          path,
          as: callerOf(viewer),
          ...(hasBody && body !== "" ? { body, headers: type === "" ? {} : { "content-type": type } } : {})
        }
      })
    )
  })
  return (
    <section className="part" aria-label="Try">
      <header>
        <h3>Try</h3>
        <ViewAs legend="Call it as" viewer={viewer} onUse={setViewer} />
      </header>
      <form
        className="function-try"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          go()
        }}
      >
        <div className="function-line">
          <Choose label="Method" value={method} options={methods.map((one) => [one, one])} onValue={setMethod} />
          <Field
            label="Path and query"
            value={path}
            maxLength={2000}
            spellCheck={false}
            placeholder="/below?a=b"
            problem={path === "" || /^[/?][!-~]*$/.test(path) ? undefined : "It begins with / or ?, without spaces"}
            onText={setPath}
          />
        </div>
        {hasBody ? (
          <>
            <Labelled label="Body">
              {(attributes) => (
                <textarea
                  {...attributes}
                  rows={4}
                  spellCheck={false}
                  value={body}
                  onChange={(event) => setBody(event.target.value)}
                />
              )}
            </Labelled>
            <Field label="Type of the body" value={type} maxLength={200} spellCheck={false} onText={setType} />
          </>
        ) : null}
        <footer>
          <Button kind="main" type="submit" icon="play" busy={busy}>
            Call
          </Button>
        </footer>
      </form>
      {failure === undefined ? null : <Problem error={failure} title="The call failed" />}
      {result === undefined ? null : <Response result={result} />}
    </section>
  )
}
