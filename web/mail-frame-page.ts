/**
 * Makes mail-frame.html, the page in which the dashboard shows mails. Its script is part of the page: the policy of the
 * page allows that one script by its hash, and nothing of the own origin.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import type { Plugin } from 'vite'

const source = join(import.meta.dirname, 'src', 'mail', 'frame-script.ts')

const makePage = (): string => {
  const { code } = transformSync(readFileSync(source, 'utf8'), { loader: 'ts', format: 'iife', minify: true })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Mail</title><body><script>${code.trim()}</script>`
}

export const mailFramePage = (): Plugin => ({
  name: 'mail-frame-page',
  configureServer: ({ middlewares }) => {
    middlewares.use('/mail-frame.html', (_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(makePage())
    })
  },
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'mail-frame.html', source: makePage() })
  },
})
