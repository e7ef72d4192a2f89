import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { copy } from "../ui/toast.ts"

/** A client in a few lines, which resumes where it was. */
const snippet = () => `let since
const connect = () => {
  const url = new URL("${location.origin.replace(/^http/, "ws")}/realtime")
  url.searchParams.set("apikey", ANON_KEY)
  if (since !== undefined) url.searchParams.set("since", since)
  const socket = new WebSocket(url)
  socket.onmessage = ({ data }) => {
    const event = JSON.parse(data)
    since = event.gap ? event.oldest : event.id
    console.log(event) // a gap: some events are missing, so read your data again
  }
  socket.onclose = () => setTimeout(connect, 1000)
}
connect()`

export const Snippet = ({ onClose }: { onClose: () => void }) => (
  <Dialog label="Follow changes in an app" className="wide" onClose={onClose}>
    <DialogBody
      title="Follow changes in an app"
      buttons={
        <>
          <Button icon="copy" onClick={() => void copy(snippet(), "Snippet")}>
            Copy
          </Button>
          <Button kind="main" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <p>
        Use an anon key: service_role keys do not belong into addresses. It receives the tables that its role may read,
        and none with row-level security.
      </p>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} aria-label="Snippet">
        {snippet()}
      </pre>
    </DialogBody>
  </Dialog>
)
