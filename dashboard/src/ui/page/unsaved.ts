import { useBlocker } from "@tanstack/react-router"
import { useEffect } from "react"

/** What is asked before that which is not saved is lost. */
const questions = new Set<{ readonly question: string }>()

/** Whether what was typed may be lost, because it is nothing or because the user says so. */
export const mayDiscard = (typed: boolean, what: string) => !typed || confirm(`Discard ${what}?`)

/** Asks before what is not a navigation: signing out, another database. */
export const mayLeave = () => Array.from(questions).every(({ question }) => confirm(question))

/**
 * Asks before the page is left, by whatever way. Undefined: nothing would be lost. `kept`: it outlives other parameters of
 * the same page, such as filters.
 */
export const useUnsaved = (question: string | undefined, kept = false) => {
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      question !== undefined && !(kept && current.pathname === next.pathname) && !confirm(question),
    enableBeforeUnload: question !== undefined
  })
  useEffect(() => {
    if (question === undefined) return
    const one = { question }
    questions.add(one)
    return () => void questions.delete(one)
  }, [question])
}
