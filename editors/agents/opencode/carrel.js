// Carrel's plugin for opencode: adds context to each prompt, as a part of its own that the screen doesn't show as the user's words.
// Whatever fails, the prompt goes on without context. `carrel agents install opencode` writes this file.
import { spawn } from "node:child_process"

const program = "carrel-hook"

const contextFor = (asked) =>
  new Promise((resolve) => {
    const child = spawn(program, ["opencode"], { timeout: 10_000, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    let answer = ""
    child.stdout.on("data", (data) => (answer += data))
    child.on("error", () => resolve(""))
    child.on("close", () => {
      try {
        const { additionalContext, hookSpecificOutput } = JSON.parse(answer)
        resolve(additionalContext ?? hookSpecificOutput?.additionalContext ?? "")
      } catch {
        resolve("")
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(asked))
  })

export const Carrel = async ({ directory }) => ({
  "chat.message": async (input, output) => {
    const asked = output.parts.find((part) => part.type === "text" && !part.synthetic)
    if (!asked) return
    const text = await contextFor({ prompt: asked.text, cwd: directory, session_id: input.sessionID })
    if (text) output.parts.push({ ...asked, id: `${asked.id}c`, text, synthetic: true })
  },
})
