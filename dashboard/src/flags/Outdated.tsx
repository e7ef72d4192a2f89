import { useQuery } from "@tanstack/react-query"
import { Button } from "../ui/Button.tsx"
import { Diff } from "../ui/json/Diff.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import type { Flag } from "./queries.ts"
import { versionOf } from "./versions.ts"

interface OutdatedProps {
  /** As it was when the draft began. */
  readonly flag: Flag
  readonly onTake: (newest: Flag) => void
  readonly onOverwrite: (newest: Flag) => void
}

/** A draft that is based on an outdated version: shows what another user changed, and asks which version to keep. */
export const Outdated = ({ flag, onOverwrite, onTake }: OutdatedProps) => {
  const newest = useQuery({
    queryKey: ["flag-newest", flag.key, flag.revision],
    queryFn: ({ signal }) => call("GET /api/flags/:key", { params: { key: flag.key }, signal }),
    staleTime: 0,
    gcTime: 0
  })
  if (newest.isPending) return <Skeleton lines={[60, 80]} />
  if (newest.isError) return <Problem error={newest.error} title="The newest version could not be read" />
  return (
    <div className="flag-outdated" role="alert">
      <h4>The flag has been changed since you began</h4>
      <p>This is what changed. Your draft is kept until you choose.</p>
      <Diff label="Changes by others" before={versionOf(flag)} after={versionOf(newest.data)} />
      <div className="flag-choices">
        <Button onClick={() => onTake(newest.data)}>Discard my draft</Button>
        <Button kind="danger" onClick={() => onOverwrite(newest.data)}>
          Save mine over it
        </Button>
      </div>
    </div>
  )
}
