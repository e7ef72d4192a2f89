import { useBlocker } from "@tanstack/react-router"
import { useEffect } from "react"
import { ask } from "../asked/ask.ts"

/** What is asked before that which is not saved is lost. */
const questions = new Set<{ readonly question: string }>()

/** Whether what was typed may be lost, because it is nothing or because the user says so. */
export const mayDiscard = async (typed: boolean, what: string) => !typed || ask(`Discard ${what}?`)

/** Asks before what is not a navigation: signing out, another database. */
export const mayLeave = async () => {
  for (const { question } of questions) if (!(await ask(question, "Leave"))) return false
  return true
}

/**
 * Asks before the page is left, by whatever way. Undefined: nothing would be lost. `kept`: it outlives other parameters of
 * the same page, such as filters.
 */
export const useUnsaved = (question: string | undefined, kept = false) => {
  useBlocker({
    shouldBlockFn: async ({ current, next }) =>
      question !== undefined && !(kept && current.pathname === next.pathname) && !(await ask(question, "Leave")),
    enableBeforeUnload: question !== undefined
  })
  useEffect(() => {
    if (question === undefined) return
    const one = { question }
    questions.add(one)
    return () => void questions.delete(one)
  }, [question])
}
