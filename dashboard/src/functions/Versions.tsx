import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { bytes } from "../ui/format.ts"
import { List } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { useVersions } from "./queries.ts"

/** What was deployed; another version is called at once, without a build. */
export const Versions = ({ current, name }: { current: number; name: string }) => {
  const client = useQueryClient()
  const versions = useVersions(name)
  const [busy, setBusy] = useState<number>()
  const select = async (version: number) => {
    setBusy(version)
    await call("POST /api/functions/:name/versions/:version/select", { params: { name, version } }).then(
      () => toast(`Version ${version} is called now`),
      toastError
    )
    await client.invalidateQueries({ queryKey: ["functions"] })
    setBusy(undefined)
  }
  return (
    <section className="part" aria-label="Versions">
      <header>
        <h3>Versions</h3>
      </header>
      {versions.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : versions.isLoadingError ? (
        <Problem
          error={versions.error}
          title="The versions could not be read"
          onRetry={() => void versions.refetch()}
        />
      ) : (
        <List
          label="Versions"
          rows={versions.data}
          keyOf={({ version }) => version}
          columns={[
            {
              name: "Version",
              cell: ({ version }) => (
                <>
                  v{version} {version === current ? <span className="badge good">called</span> : null}
                </>
              )
            },
            { name: "Deployed", cell: ({ created_at }) => <When at={created_at} /> },
            { name: "By", cell: ({ created_by }) => <span className="soft">{created_by}</span> },
            { name: "Size", end: true, cell: ({ size }) => bytes(size) },
            { name: "SHA-256", cell: ({ digest }) => <code title={digest}>{digest.slice(0, 12)}</code> },
            {
              name: "Actions",
              actions: true,
              cell: ({ version }) =>
                version === current ? null : (
                  <Button kind="quiet" icon="undo" busy={busy === version} onClick={() => void select(version)}>
                    {version < current ? `Roll back to v${version}` : `Call v${version}`}
                  </Button>
                )
            }
          ]}
        />
      )}
    </section>
  )
}
