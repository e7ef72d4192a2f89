import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Segments } from "../ui/page/Segments.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { copy, toast, toastError } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { type Message, pageSize, type Place, useMessages } from "./queries.ts"

const places = [
  ["queue", "In the queue"],
  ["dead", "Dead letters"],
  ["archive", "Archive"]
] as const satisfies ReadonlyArray<readonly [Place, string]>

/** Characters of a message that are laid out; copying has all. */
const [mostListed, mostShown] = [200, 100_000]

const stateOf = ({ read_ct, vt }: Message) =>
  Date.parse(vt) <= Date.now()
    ? (["good", "visible"] as const)
    : read_ct > 0
      ? (["warn", "in flight"] as const)
      : (["", "delayed"] as const)

const columnsOf = (
  place: Place,
  open: (message: Message) => void,
  putBack: (message: Message) => void
): ReadonlyArray<ListColumn<Message>> => [
  { name: "Id", end: true, cell: ({ msg_id }) => msg_id },
  {
    name: "Message",
    cell: ({ message }) => <code className="cut">{JSON.stringify(message).slice(0, mostListed)}</code>
  },
  ...(place === "queue"
    ? [
        {
          name: "State",
          cell: (message: Message) => {
            const [kind, words] = stateOf(message)
            return <span className={`badge ${kind}`}>{words}</span>
          }
        }
      ]
    : []),
  { name: "Reads", end: true, cell: ({ read_ct }) => read_ct },
  { name: "Sent", cell: ({ enqueued_at }) => <When at={enqueued_at} /> },
  {
    name: "Actions",
    actions: true,
    cell: (message) => (
      <>
        <Button kind="quiet" onClick={() => open(message)}>
          Show
        </Button>
        {place === "dead" ? (
          <Button kind="quiet" onClick={() => putBack(message)}>
            Put back
          </Button>
        ) : null}
      </>
    )
  }
]

const Shown = ({ message, onClose }: { message: Message; onClose: () => void }) => {
  const text = JSON.stringify(message.message, null, 2)
  const title = `Message ${message.msg_id}`
  return (
    <Dialog label={title} className="roomy" onClose={onClose}>
      <DialogBody
        title={title}
        buttons={
          <>
            <Button icon="copy" onClick={() => void copy(text, "Message")}>
              Copy message
            </Button>
            <Button onClick={onClose}>Close</Button>
          </>
        }
      >
        <Facts
          facts={[
            ["Sent", <When key="sent" at={message.enqueued_at} />],
            ["Reads", String(message.read_ct)],
            ["Visible", <When key="vt" at={message.vt} />],
            [
              "Headers",
              message.headers === null ? "none" : <code key="headers">{JSON.stringify(message.headers)}</code>
            ]
          ]}
        />
        <pre tabIndex={0} role="region" aria-label="Message">
          {text.slice(0, mostShown)}
        </pre>
      </DialogBody>
    </Dialog>
  )
}

/** The messages of a queue, newest first, without receiving them. */
export const Messages = ({ dead, queue }: { queue: string; dead: number }) => {
  const client = useQueryClient()
  const [place, setPlace] = useState<Place>("queue")
  const [before, setBefore] = useState<number>()
  const [open, setOpen] = useState<Message>()
  const [busy, setBusy] = useState(false)
  const messages = useMessages(queue, place, before)
  const show = (next: Place, from?: number) => {
    setPlace(next)
    setBefore(from)
  }
  const putBack = async (msg_ids?: ReadonlyArray<number>) => {
    setBusy(true)
    try {
      const payload = msg_ids === undefined ? {} : { msg_ids }
      const { count } = await call("POST /api/queues/:queue/put-back", { params: { queue }, payload })
      toast(`${plural(count, "message")} put back`)
    } catch (error) {
      toastError(error)
    }
    await client.invalidateQueries({ queryKey: ["queues"] })
    setBusy(false)
  }
  const oldest = messages.data?.at(-1)
  return (
    <section className="part" aria-label="Messages">
      <header>
        <h3>Messages</h3>
        <Segments label="Which messages" options={places} value={place} onValue={(next) => show(next)} />
        {place === "dead" && dead > 0 ? (
          <Button icon="undo" busy={busy} onClick={() => void putBack()}>
            Put all back
          </Button>
        ) : null}
      </header>
      {messages.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : messages.isLoadingError ? (
        <Problem
          error={messages.error}
          title="The messages could not be read"
          onRetry={() => void messages.refetch()}
        />
      ) : messages.data.length === 0 ? (
        <Empty
          icon="queue"
          title={place === "queue" ? "No messages" : place === "dead" ? "No dead letters" : "Nothing archived"}
        >
          {place === "queue"
            ? "All that was sent is acknowledged."
            : place === "dead"
              ? "Messages that are received too often without being acknowledged are kept here."
              : "Messages that are acknowledged with archive are kept here."}
        </Empty>
      ) : (
        <List
          label="Messages"
          columns={columnsOf(place, setOpen, ({ msg_id }) => void putBack([msg_id]))}
          rows={messages.data}
          keyOf={({ msg_id }) => msg_id}
        />
      )}
      <div className="pager">
        {before === undefined ? null : <Button onClick={() => show(place)}>Newest</Button>}
        {oldest !== undefined && messages.data?.length === pageSize ? (
          <Button onClick={() => show(place, oldest.msg_id)}>Older</Button>
        ) : null}
      </div>
      {open === undefined ? null : <Shown message={open} onClose={() => setOpen(undefined)} />}
    </section>
  )
}
