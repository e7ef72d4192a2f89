import "./storage.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ago, moment } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { type Bucket, useBuckets } from "./queries.ts"

const NewBucket = ({ onClose, onMade }: { onClose: () => void; onMade: (name: string) => Promise<void> }) => {
  const [name, setName] = useState("")
  const save = async () => {
    await call("POST /api/storage/buckets/", { payload: { name } })
    await onMade(name)
  }
  return (
    <FormDialog
      title="Create a bucket"
      verb="Create bucket"
      failed="The bucket was not created"
      run={save}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        placeholder="photos"
        autoComplete="off"
        spellCheck={false}
        hint="3 to 63 lowercase letters, digits, dots and hyphens. It can't be changed."
        onText={setName}
      />
    </FormDialog>
  )
}

const columnsOf = (remove: (bucket: Bucket) => void): ReadonlyArray<ListColumn<Bucket>> => [
  {
    name: "Bucket",
    cell: ({ name }) => (
      <Link to="/storage/$bucket" params={{ bucket: name }} search={{}}>
        {name}
      </Link>
    )
  },
  {
    name: "Created",
    cell: ({ created_at }) => (
      <time dateTime={created_at} title={moment(created_at)}>
        {ago(created_at)}
      </time>
    )
  },
  {
    name: "Actions",
    actions: true,
    cell: (bucket) => (
      <Button kind="quiet" onClick={() => remove(bucket)}>
        Delete
      </Button>
    )
  }
]

export const BucketsPage = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const buckets = useBuckets()
  const [making, setMaking] = useState(false)
  const [removing, setRemoving] = useState<Bucket>()
  const make = (
    <Button kind="main" icon="plus" onClick={() => setMaking(true)}>
      Create bucket
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>Storage</h2>
        <CopyRequest path="/api/storage/buckets" />
        {buckets.data?.buckets.length === 0 ? null : make}
      </div>
      <p className="lead">
        Buckets hold files. A new bucket is private: apps get at its files by presigned URLs, or by a policy that opens
        a part of it.
      </p>
      {buckets.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : buckets.isLoadingError ? (
        <Problem error={buckets.error} title="The buckets could not be read" onRetry={() => void buckets.refetch()} />
      ) : buckets.data.buckets.length === 0 ? (
        <Empty icon="storage" title="No buckets yet" action={make}>
          A bucket keeps files such as photos and exports, in folders.
        </Empty>
      ) : (
        <List label="Buckets" columns={columnsOf(setRemoving)} rows={buckets.data.buckets} keyOf={({ name }) => name} />
      )}
      {making ? (
        <NewBucket
          onClose={() => setMaking(false)}
          onMade={async (bucket) => {
            toast("Bucket created")
            void client.invalidateQueries({ queryKey: ["buckets"] })
            await navigate({ to: "/storage/$bucket", params: { bucket }, search: {} })
          }}
        />
      ) : null}
      {removing === undefined ? null : (
        <Confirm
          title={`Delete ${removing.name}?`}
          verb="Delete bucket and files"
          name={removing.name}
          onClose={() => setRemoving(undefined)}
          run={async () => {
            await call("DELETE /api/storage/buckets/:bucket", {
              params: { bucket: removing.name },
              query: { force: "true" }
            })
            toast("Bucket deleted")
            client.removeQueries({ queryKey: ["objects", removing.name] })
            await client.invalidateQueries({ queryKey: ["buckets"] })
          }}
        >
          <p>All files in it are deleted with it. This can&apos;t be undone.</p>
        </Confirm>
      )}
    </div>
  )
}
