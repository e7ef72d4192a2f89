import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { count, plural } from "../ui/format.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { Messages } from "./Messages.tsx"
import { ageOf, type Queue, useQueue } from "./queries.ts"
import { QueueForm } from "./QueueForm.tsx"
import { SendForm } from "./SendForm.tsx"

const consumerOf = ({ consumer }: Queue) => {
  if (consumer === null) return "none: clients receive the messages"
  const { batch, concurrency, function: name, grouped, visibility } = consumer
  return (
    <>
      <code>{name}</code>, with {batch === 1 ? "a message" : `up to ${plural(batch, "message")}`} a call,{" "}
      {plural(concurrency, "call")} at a time, {visibility} s each{grouped ? ", in the order of groups" : ""}
    </>
  )
}

const factsOf = (queue: Queue) => {
  const { created_at, dead, depth, exact, in_flight, max_reads, oldest_age, unlogged, visible } = queue
  return [
    ["Messages", `${exact ? "" : "about "}${count(depth)}: ${count(visible)} visible, ${count(in_flight)} in flight`],
    ["Function", consumerOf(queue)],
    ["Oldest", ageOf(oldest_age)],
    [
      "Dead letters",
      max_reads === null ? `${count(dead)}; none are made` : `${count(dead)}; after ${plural(max_reads, "read")}`
    ],
    ["Kind", unlogged ? "unlogged: empty after a crash of PostgreSQL" : "durable"],
    ["Created", <When key="created" at={created_at} />]
  ] as const
}

const Details = ({ queue }: { queue: Queue }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<"send" | "change" | "purge" | "delete">()
  const { depth, name } = queue
  const close = () => setOpen(undefined)
  const read = () => client.invalidateQueries({ queryKey: ["queues"] })
  return (
    <div className="page">
      <div className="page-head">
        <h2>{name}</h2>
        <CopyRequest path={`/api/queues/${name}/messages`} />
        <Button kind="danger" onClick={() => setOpen("delete")}>
          Delete
        </Button>
        <Button onClick={() => setOpen("purge")}>Purge</Button>
        <Button onClick={() => setOpen("change")}>Edit</Button>
        <Button kind="main" icon="plus" onClick={() => setOpen("send")}>
          Send
        </Button>
      </div>
      <MainOnly>This is a queue of the main database; those of a branch are its own.</MainOnly>
      <Facts facts={factsOf(queue)} />
      <Messages queue={name} dead={queue.dead} />
      {open === "send" ? (
        <SendForm
          queue={name}
          onClose={close}
          onSent={() => {
            toast("Message sent")
            void read()
            close()
          }}
        />
      ) : null}
      {open === "change" ? (
        <QueueForm
          queue={queue}
          onClose={close}
          onSaved={() => {
            toast("Queue changed")
            void read()
            close()
          }}
        />
      ) : null}
      {open === "purge" ? (
        <Confirm
          title={`Purge ${name}?`}
          verb="Purge queue"
          name={depth === 0 ? undefined : name}
          onClose={close}
          run={async () => {
            const purged = await call("POST /api/queues/:queue/purge", { params: { queue: name } })
            toast(`${plural(purged.count, "message")} deleted`)
            await read()
          }}
        >
          <p>{plural(depth, "message")}, also those in flight, are deleted. This can&apos;t be undone.</p>
        </Confirm>
      ) : null}
      {open === "delete" ? (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete queue"
          name={name}
          onClose={close}
          run={async () => {
            await call("DELETE /api/queues/:queue", { params: { queue: name } })
            toast("Queue deleted")
            await navigate({ to: "/queues" })
            client.removeQueries({ queryKey: ["queues", name] })
            await client.invalidateQueries({ queryKey: ["queues"], exact: true })
          }}
        >
          <p>Its archive and {plural(depth, "message")} go with it; dead letters stay. This can&apos;t be undone.</p>
        </Confirm>
      ) : null}
    </div>
  )
}

export const QueuePage = () => {
  const { queue: name = "" } = useParams({ strict: false }) as { readonly queue?: string }
  return <Existing key={name} name={name} />
}

const Existing = ({ name }: { name: string }) => {
  const queue = useQueue(name)
  if (codeOf(queue.error) === "QUEUE_NOT_FOUND" || !/^[A-Za-z0-9_-]{1,47}$/.test(name)) {
    return (
      <Gone icon="queue" title="No such queue">
        <Link className="button" to="/queues">
          All queues
        </Link>
      </Gone>
    )
  }
  if (queue.data !== undefined) return <Details queue={queue.data} />
  return (
    <div className="page">
      {queue.isError ? (
        <Problem error={queue.error} title="The queue could not be read" onRetry={() => void queue.refetch()} />
      ) : (
        <Skeleton lines={[40, 100, 100]} />
      )}
    </div>
  )
}
