import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { count, moment } from "../ui/format.ts"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { outcomeOf, succeeded } from "./health.ts"
import { Result } from "./Result.tsx"
import type { Attempt, Sent } from "./queries.ts"

/** Characters of a payload that are laid out; copying has all. */
const mostShown = 100_000

/** One entry of the log, and its replay. */
export const Delivery = ({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) => {
  const client = useQueryClient()
  const [busy, setBusy] = useState(false)
  const [result, setResult] = useState<Sent>()
  const [failure, setFailure] = useState<unknown>()
  const { error, event_type, payload, response_body, status_code } = attempt
  const text = payload === null ? undefined : JSON.stringify(payload, null, 2)
  const replay = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      const { id: logId, webhook_id: id } = attempt
      setResult(await call("POST /api/webhooks/:id/replay/:logId", { params: { id, logId } }))
      await client.invalidateQueries({ queryKey: ["webhooks"] })
    } catch (caught) {
      setFailure(caught)
    }
    setBusy(false)
  }
  const title = `${event_type} ${moment(attempt.created_at)}`
  return (
    <Dialog label={title} className="roomy" onClose={onClose}>
      <DialogBody
        title={title}
        buttons={
          <>
            {text === undefined ? null : (
              <Button icon="copy" onClick={() => void copy(JSON.stringify(payload), "Payload")}>
                Copy payload
              </Button>
            )}
            <Button onClick={onClose}>Close</Button>
            <Button kind="main" icon="refresh" busy={busy} disabled={text === undefined} onClick={() => void replay()}>
              Replay
            </Button>
          </>
        }
      >
        <Facts
          facts={[
            [
              "Response",
              <span key="response" className={`badge ${succeeded(attempt) ? "good" : "bad"}`}>
                {outcomeOf(attempt)}
              </span>
            ],
            ["Took", `${count(attempt.latency_ms)} ms`],
            ["Attempt", String(attempt.attempt)],
            ["Message", <code key="id">{attempt.message_id}</code>]
          ]}
        />
        {error === null ? null : <p className="failed">{error}</p>}
        <h3>Sent</h3>
        {text === undefined ? (
          <p>Nothing: the payload was larger than 10 MiB.</p>
        ) : (
          // A region that scrolls must be reachable by keyboard.
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          <pre tabIndex={0} aria-label="Payload">
            {text.length > mostShown ? `${text.slice(0, mostShown)}\n… (“Copy payload” has all of it)` : text}
          </pre>
        )}
        {status_code === null ? null : (
          <>
            <h3>Received</h3>
            {response_body === "" ? (
              <p>An empty body.</p>
            ) : (
              // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
              <pre tabIndex={0} aria-label="Response body">
                {response_body}
              </pre>
            )}
          </>
        )}
        {result === undefined ? null : <Result what="Replayed" sent={result} />}
        {failure === undefined ? null : <Problem error={failure} title="It was not sent again" />}
      </DialogBody>
    </Dialog>
  )
}
