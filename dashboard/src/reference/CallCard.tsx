import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { parseFaithful } from "../wire/exact.ts"
import { type Answer, request } from "../wire/request.ts"
import type { Call } from "./calls.ts"
import { type Client, headersOf, snippetOf, type Target, urlOf } from "./clients.ts"

/** Characters of a response that are shown at most. */
const most = 20_000

const Response = ({ answer: { body, millis } }: { answer: Answer<unknown> }) => {
  const text = JSON.stringify(body, null, 2)
  return (
    <div className="call-response" role="status">
      <p className="hint">
        As this session, which has all rights; {Math.round(millis)} ms
        {text.length > most ? `; the first ${most} of ${text.length} characters` : ""}
      </p>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="code" tabIndex={0} aria-label="Response">
        {text.slice(0, most)}
      </pre>
    </div>
  )
}

interface CallCardProps {
  readonly call: Call
  readonly client: Client
  readonly target: Target
}

/** A request as the text of a program. Reads can be tried here; writes would change rows. */
export const CallCard = ({ call, client, target }: CallCardProps) => {
  const [answer, setAnswer] = useState<Answer<unknown>>()
  const { busy, failure, go } = useAction(async () => {
    setAnswer(undefined)
    setAnswer(await request(urlOf(call), { headers: headersOf(call, target.profile), parse: parseFaithful }))
  })
  const snippet = snippetOf(client, call, target)
  return (
    <section className="card call" aria-label={call.title}>
      <header>
        <h3>{call.title}</h3>
        {call.method === "GET" ? (
          <Button kind="quiet" icon="play" busy={busy} onClick={go}>
            Try
          </Button>
        ) : null}
        <Button kind="quiet" icon="copy" onClick={() => void copy(snippet, "Request")}>
          Copy
        </Button>
      </header>
      <p className="soft">{call.words}</p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="code" tabIndex={0} aria-label={`${call.title}, as ${client}`}>
        {snippet}
      </pre>
      {failure === undefined ? null : <Problem error={failure} title="The request failed" />}
      {answer === undefined ? null : <Response answer={answer} />}
    </section>
  )
}
