import "./flags.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { ifMatch, type Segment, useSegments } from "./queries.ts"
import { SegmentForm } from "./SegmentForm.tsx"

type Open =
  | { readonly tag: "form"; readonly segment: Segment | undefined }
  | { readonly tag: "delete"; readonly segment: Segment }

const UsedBy = ({ used_by: { flags, segments } }: Segment) =>
  flags.length + segments.length === 0 ? (
    <span className="faint">nothing</span>
  ) : (
    <span className="flag-users">
      {flags.map((key) => (
        <Link key={key} to="/flags/$key" params={{ key }} search={{}}>
          {key}
        </Link>
      ))}
      {segments.map((key) => (
        <code key={key}>{key}</code>
      ))}
    </span>
  )

const columnsOf = (act: (open: Open) => void): ReadonlyArray<ListColumn<Segment>> => [
  {
    name: "Segment",
    cell: ({ description, key, name }) => (
      <span className="flag-name">
        <b>{key}</b>
        <small>{[name, description ?? ""].filter((text) => text !== "").join(" · ")}</small>
      </span>
    )
  },
  { name: "Rules", cell: ({ rules }) => <code className="flag-rule">{JSON.stringify(rules).slice(0, 120)}</code> },
  { name: "Used by", cell: (segment) => <UsedBy {...segment} /> },
  {
    name: "Actions",
    actions: true,
    cell: (segment) => (
      <>
        <Button kind="quiet" onClick={() => act({ tag: "form", segment })}>
          Edit
        </Button>
        <Button kind="quiet" onClick={() => act({ tag: "delete", segment })}>
          Delete
        </Button>
      </>
    )
  }
]

export const SegmentsPage = () => {
  const client = useQueryClient()
  const segments = useSegments()
  const [open, setOpen] = useState<Open>()
  const make = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form", segment: undefined })}>
      Create segment
    </Button>
  )
  const read = () => client.invalidateQueries({ queryKey: ["segments"] })
  return (
    <div className="page">
      <div className="page-head">
        <h2>Segments</h2>
        <CopyRequest path="/api/flags/segments" />
        {segments.data?.length === 0 ? null : make}
      </div>
      <p className="lead">
        A segment is a group of users by a rule, such as staff, that the rules of flags refer to as{" "}
        <code>{'{ "$ref": "staff" }'}</code>. A change applies at once to all flags that use it.
      </p>
      {segments.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : segments.isLoadingError ? (
        <Problem
          error={segments.error}
          title="The segments could not be read"
          onRetry={() => void segments.refetch()}
        />
      ) : segments.data.length === 0 ? (
        <Empty icon="users" title="No segments yet" action={make}>
          A segment keeps the rule for a group of users in one place.
        </Empty>
      ) : (
        <List label="Segments" columns={columnsOf(setOpen)} rows={segments.data} keyOf={({ key }) => key} />
      )}
      {open?.tag === "form" ? (
        <SegmentForm
          segment={open.segment}
          onClose={() => setOpen(undefined)}
          onSaved={() => {
            toast(open.segment === undefined ? "Segment created" : "Segment saved")
            setOpen(undefined)
            void read()
          }}
        />
      ) : null}
      {open?.tag === "delete" ? (
        <Confirm
          title={`Delete ${open.segment.key}?`}
          verb="Delete segment"
          name={open.segment.key}
          onClose={() => setOpen(undefined)}
          run={async () => {
            const { key, revision } = open.segment
            await call("DELETE /api/flags/segments/:key", { params: { key }, headers: ifMatch(revision) })
            toast("Segment deleted")
            await read()
          }}
        >
          {open.segment.used_by.flags.length + open.segment.used_by.segments.length === 0 ? (
            <p>No flag uses it. This can&apos;t be undone.</p>
          ) : (
            <p>
              It can be deleted only when nothing uses it. It is used by{" "}
              <b>{[...open.segment.used_by.flags, ...open.segment.used_by.segments].join(", ")}</b>.
            </p>
          )}
        </Confirm>
      ) : null}
    </div>
  )
}
