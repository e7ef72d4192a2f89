import { useEffect, useRef } from "react"
import { toast, toastError } from "../ui/toast.ts"
import { type Branch, failureOf } from "./queries.ts"

/** How far a branch is. PostgreSQL does not say it of a copy of files, during which the main database is closed. */
export const Filling = ({ branch: { label, objects_at, progress, source_backup_id } }: { branch: Branch }) => (
  <span className="progress" role="status">
    <progress max={100} value={progress ?? undefined} aria-label={`Progress of ${label}`} />{" "}
    {progress === null
      ? "being copied"
      : `${progress} %${source_backup_id === null && objects_at === null ? "" : ", being restored"}`}
  </span>
)

/** Says when a branch that was being filled can be used, or that it could not be made, and why. */
export const useOutcome = (branches: ReadonlyArray<Branch> | undefined) => {
  const filling = useRef<ReadonlyMap<number, string>>(new Map())
  useEffect(() => {
    if (branches === undefined) return
    for (const [id, label] of filling.current) {
      const now = branches.find((branch) => branch.id === id)
      if (now?.status === "active") toast(`The branch ${label} can be used`)
      else if (now === undefined) {
        void failureOf(id).then((reason) => {
          if (reason !== undefined) toastError(new Error(`The branch ${label} is gone. ${reason}`))
        })
      }
    }
    filling.current = new Map(
      branches.filter(({ status }) => status !== "active").map(({ id, label }) => [id as number, label])
    )
  }, [branches])
}
