import { useBranch } from "./useBranch.ts"

/** On pages about the main database, which a branch that is worked on does not change. */
export const MainOnly = ({ children }: { children: string }) => {
  const current = useBranch()
  return current === undefined ? null : (
    <p className="note">
      You work on the branch <b>{current.label}</b>. {children}
    </p>
  )
}
