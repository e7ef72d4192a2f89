import { useInfiniteQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { Diff } from "../ui/json/Diff.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { ago, moment } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { type Flag, type HistoryEntry, ifMatch } from "./queries.ts"
import { restoreSteps, type Version, versionOf } from "./versions.ts"

const pageSize = 20

const nameOf = ({ label, type, id }: HistoryEntry["actor"]) => (label === "" ? `${type} ${id}` : label)

const recorded = (version: HistoryEntry["after"]) => (version === null ? {} : versionOf(version as unknown as Version))

/** Makes the flag what it was after an entry, one request for each environment that differs. */
const restore = async (flag: Flag, version: Version): Promise<Flag> => {
  let now = flag
  for (const { environment, payload } of restoreSteps(flag, version)) {
    now = await call("PUT /api/flags/:key", {
      params: { key: flag.key },
      query: { environment },
      headers: ifMatch(now.revision),
      payload
    })
  }
  return now
}

type Open = { readonly tag: "diff" | "restore"; readonly entry: HistoryEntry }

const columnsOf = (newest: number | undefined, act: (open: Open) => void): ReadonlyArray<ListColumn<HistoryEntry>> => [
  {
    name: "When",
    cell: ({ created_at }) => (
      <time dateTime={created_at} title={moment(created_at)}>
        {ago(created_at)}
      </time>
    )
  },
  {
    name: "Change",
    cell: ({ action, environment }) => (
      <>
        {action} {environment === null ? null : <span className="badge">{environment}</span>}
      </>
    )
  },
  { name: "By", cell: ({ actor }) => nameOf(actor) },
  {
    name: "Actions",
    actions: true,
    cell: (entry) => (
      <>
        <Button kind="quiet" onClick={() => act({ tag: "diff", entry })}>
          Show change
        </Button>
        {entry.id === newest || entry.after === null ? null : (
          <Button kind="quiet" icon="undo" onClick={() => act({ tag: "restore", entry })}>
            Revert to this
          </Button>
        )}
      </>
    )
  }
]

export const FlagHistory = ({ flag, onRestored }: { flag: Flag; onRestored: (flag: Flag) => void }) => {
  const [open, setOpen] = useState<Open>()
  const history = useInfiniteQuery({
    queryKey: ["flag-history", flag.key],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/flags/:key/history", {
        params: { key: flag.key },
        query: { limit: pageSize, ...(pageParam === undefined ? {} : { before: pageParam }) },
        signal
      }),
    initialPageParam: undefined as number | undefined,
    // A page may be shorter when its entries are large: only an empty one is the end.
    getNextPageParam: (page) => page.at(-1)?.id
  })
  const entries = history.data?.pages.flat() ?? []
  const atEnd = entries.at(-1)?.action === "created" || history.data?.pages.at(-1)?.length === 0
  return (
    <section className="card flag-history" aria-label="History">
      <h3>History</h3>
      {history.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : history.isLoadingError ? (
        <Problem error={history.error} title="The history could not be read" onRetry={() => void history.refetch()} />
      ) : (
        <List label="History" columns={columnsOf(entries[0]?.id, setOpen)} rows={entries} keyOf={({ id }) => id} />
      )}
      {history.hasNextPage && !atEnd ? (
        <Button busy={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
          Older changes
        </Button>
      ) : null}
      {open?.tag === "diff" ? (
        <Dialog label="Change" className="wide" onClose={() => setOpen(undefined)}>
          <DialogBody
            title={`${open.entry.action} by ${nameOf(open.entry.actor)}, ${moment(open.entry.created_at)}`}
            buttons={<Button onClick={() => setOpen(undefined)}>Close</Button>}
          >
            <Diff label="Change" before={recorded(open.entry.before)} after={recorded(open.entry.after)} />
          </DialogBody>
        </Dialog>
      ) : null}
      {open?.tag === "restore" && open.entry.after !== null ? (
        <Confirm
          title={`Revert ${flag.key} to ${moment(open.entry.created_at)}?`}
          verb="Revert flag"
          onClose={() => setOpen(undefined)}
          run={async () => {
            onRestored(await restore(flag, open.entry.after as unknown as Version))
            toast("Flag reverted")
          }}
        >
          <p>This changes all environments that differ, at once. It is a change of its own and can be reverted too.</p>
          <Diff label="What changes" before={versionOf(flag)} after={recorded(open.entry.after)} />
        </Confirm>
      ) : null}
    </section>
  )
}
