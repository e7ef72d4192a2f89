import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState, useSyncExternalStore } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count, plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { When } from "../ui/page/When.tsx"
import { call } from "../wire/call.ts"
import { session } from "../wire/session.ts"
import { type ApiKey, KeyForm } from "./KeyForm.tsx"

type Open =
  | { readonly tag: "form"; readonly key: ApiKey | undefined }
  | { readonly tag: "secret"; readonly secret: string; readonly type: ApiKey["key_type"] }
  | { readonly tag: "revoke"; readonly key: ApiKey }

const nameOf = ({ id, label }: ApiKey) => (label === "" ? `Key ${id}` : label)

/** Requests of the last hour by key, read again while the page is open. */
const useCounts = () =>
  useQuery({
    queryKey: ["requests", "keys"],
    queryFn: async ({ signal }) => {
      const { keys } = await call("GET /api/requests/keys", { signal })
      return new Map(keys.map((one) => [one.key_id, one]))
    },
    refetchInterval: 10_000
  })
type Counts = NonNullable<ReturnType<typeof useCounts>["data"]>

const LastHour = ({ apiKey: { id }, counts }: { apiKey: ApiKey; counts: Counts | undefined }) => {
  if (counts === undefined) return null
  const { errors, refused, requests } = counts.get(id) ?? { errors: 0, refused: 0, requests: 0 }
  if (requests === 0) return <span className="faint">none</span>
  return (
    <span className="named end">
      <Link to="/requests" search={{ key: String(id) }} aria-label={`${count(requests)} requests, show the latest`}>
        {count(requests)}
      </Link>
      {refused === 0 ? null : (
        <Link className="badge warn" to="/requests" search={{ key: String(id), status: "4xx" }}>
          {count(refused)} refused
        </Link>
      )}
      {errors === 0 ? null : (
        <Link className="badge bad" to="/requests" search={{ key: String(id), status: "5xx" }}>
          {plural(errors, "error")}
        </Link>
      )}
    </span>
  )
}

interface KeyContext {
  /** The key of this session. */
  readonly mine: number | undefined
  readonly counts: Counts | undefined
}

const columnsOf = ({ counts, mine }: KeyContext, act: (open: Open) => void): ReadonlyArray<ListColumn<ApiKey>> => [
  {
    name: "Label",
    cell: (key) => (
      <span className="named">
        <b>{nameOf(key)}</b>
        {key.id === mine ? <span className="badge accent">this session</span> : null}
        {key.revoked_at === null ? null : <span className="badge bad">revoked</span>}
      </span>
    )
  },
  {
    name: "Class",
    cell: ({ key_type }) => <span className={`badge ${key_type === "service_role" ? "warn" : ""}`}>{key_type}</span>
  },
  { name: "Begins with", cell: ({ key_prefix }) => <code>{key_prefix}…</code> },
  { name: "Created", cell: ({ created_at }) => <When at={created_at} /> },
  { name: "Last used", cell: ({ last_used_at }) => <When at={last_used_at} /> },
  { name: "Requests, last hour", end: true, cell: (key) => <LastHour apiKey={key} counts={counts} /> },
  {
    name: "Limit per minute",
    end: true,
    cell: ({ rate_limit }) => (rate_limit === null ? <span className="faint">none</span> : count(rate_limit))
  },
  {
    name: "Actions",
    actions: true,
    cell: (key) =>
      key.revoked_at !== null ? null : (
        <>
          <Button kind="quiet" onClick={() => act({ tag: "form", key })}>
            Edit
          </Button>
          <Button kind="quiet" onClick={() => act({ tag: "revoke", key })}>
            Revoke
          </Button>
        </>
      )
  }
]

export const KeysPage = () => {
  const client = useQueryClient()
  const [open, setOpen] = useState<Open>()
  const [revoked, setRevoked] = useState(false)
  const author = useSyncExternalStore(session.subscribe, session.author)
  const mine = author?.type === "key" ? author.id : undefined
  const keys = useQuery({ queryKey: ["keys"], queryFn: ({ signal }) => call("GET /api/keys/", { signal }) })
  const counts = useCounts()
  const read = () => client.invalidateQueries({ queryKey: ["keys"] })
  const live = keys.data?.filter(({ revoked_at }) => revoked_at === null) ?? []
  const shown = revoked ? (keys.data ?? []) : live
  const isLast = ({ key_type }: ApiKey) =>
    key_type === "service_role" && live.filter((one) => one.key_type === "service_role").length === 1

  return (
    <div className="page">
      <div className="page-head">
        <h2>API keys</h2>
        {keys.data !== undefined && keys.data.length > live.length ? (
          <Button kind="quiet" onClick={() => setRevoked(!revoked)}>
            {revoked ? "Hide revoked" : `Show revoked (${keys.data.length - live.length})`}
          </Button>
        ) : null}
        <CopyRequest path="/api/keys" />
        <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form", key: undefined })}>
          Create key
        </Button>
      </div>
      <p className="lead">
        An <b>anon</b> key is public: row-level security decides what it may do. A <b>service_role</b> key has all
        rights and belongs on servers. To replace a key, create another, move its users, watch “Last used”, then revoke
        it.
      </p>
      {keys.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : keys.isLoadingError ? (
        <Problem error={keys.error} title="The keys could not be read" onRetry={() => void keys.refetch()} />
      ) : shown.length === 0 ? (
        <Empty icon="key" title="No keys">
          Apps and servers send a key with each request.
        </Empty>
      ) : (
        <List
          label="API keys"
          columns={columnsOf({ mine, counts: counts.data }, setOpen)}
          rows={shown}
          keyOf={({ id }) => id}
          faded={({ revoked_at }) => revoked_at !== null}
        />
      )}
      {open?.tag === "form" ? (
        <KeyForm
          apiKey={open.key}
          onClose={() => setOpen(undefined)}
          onSaved={(secret, type) => {
            void read()
            if (secret === undefined) toast("Key changed")
            setOpen(secret === undefined ? undefined : { tag: "secret", secret, type })
          }}
        />
      ) : null}
      {open?.tag === "secret" ? (
        <SecretOnce title="The key was created" secret={open.secret} onClose={() => setOpen(undefined)}>
          {open.type === "service_role"
            ? "It is shown only now. It has all rights: keep it on servers, never in an app or a repository."
            : "It is shown only now. It may be part of an app that everyone can read."}
        </SecretOnce>
      ) : null}
      {open?.tag === "revoke" ? (
        <Confirm
          title={`Revoke ${nameOf(open.key)}?`}
          verb="Revoke key"
          name={open.key.label === "" ? undefined : open.key.label}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/keys/:id", { params: { id: open.key.id } })
            toast("Key revoked")
            await read()
          }}
        >
          <p>Requests with it are refused at once. This can&apos;t be undone.</p>
          {open.key.id === mine ? <p>You are signed in with this key: you will be signed out.</p> : null}
          {isLast(open.key) ? (
            <p>
              It is the last service_role key. Another can then be made only on the server:{" "}
              <code>npm run key -- service_role &quot;label&quot;</code>
            </p>
          ) : null}
        </Confirm>
      ) : null}
    </div>
  )
}
