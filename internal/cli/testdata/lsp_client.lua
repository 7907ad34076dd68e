-- An editor's side of the language server protocol, as Neovim speaks it.
-- usage: nvim --headless -u NONE -i NONE -n +"luafile lsp_client.lua" with CFN and PROJECT set
local out = {}
local function say(...) table.insert(out, table.concat({...}, ' ')) end
local dir = vim.env.PROJECT
local code
local client = vim.lsp.start_client({
  name = 'cfn', cmd = { vim.env.CFN, 'lsp' }, root_dir = dir,
  on_exit = function(status) code = status end,
})
local function open(name)
  vim.cmd('edit ' .. vim.fn.fnameescape(dir .. '/' .. name))
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, client)
  vim.wait(20000, function() return #vim.diagnostic.get(buffer) > 0 end, 20)
  return buffer
end
local function diagnostics(name, buffer)
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    say(name, tostring(d.lnum + 1), d.code or d.user_data.lsp.code)
  end
end
local function ask(buffer, method, word, more)
  vim.fn.cursor(1, 1)
  vim.fn.search('\\V' .. word)
  local position = vim.api.nvim_win_get_cursor(0)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    position = { line = position[1] - 1, character = position[2] + 2 },
  }
  for key, value in pairs(more or {}) do params[key] = value end
  local replies = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  return replies[client].result
end
local ok, problem = pcall(function()
  local schema = open('initech-tps-report.json')
  diagnostics('schema', schema)
  local text = ask(schema, 'textDocument/hover', 'createOnlyProperties').contents.value
  say('hover', (vim.split(text, '\n')[1]:gsub('%*', '')))
  local input = open('inputs/inputs_1_create.json')
  diagnostics('input', input)
  local labels = {}
  for _, item in ipairs(ask(input, 'textDocument/completion', '"DRA').items) do table.insert(labels, item.label) end
  say('completion', table.concat(labels, ' '))
  local place = ask(input, 'textDocument/definition', 'Status')
  say('definition', vim.fn.fnamemodify(vim.uri_to_fname(place.uri), ':t'), tostring(place.range.start.line + 1))
  local template = open('stack.yaml')
  diagnostics('template', template)
  local values = {}
  for _, item in ipairs(ask(template, 'textDocument/completion', 'DRAFTY').items) do
    if #values < 2 then table.insert(values, item.label) end
  end
  say('values', table.concat(values, ' '))
  local lines = {}
  for _, edit in ipairs(vim.tbl_values(ask(template, 'textDocument/rename', 'Report:', { newName = 'Weekly' }).changes)[1]) do
    table.insert(lines, tostring(edit.range.start.line + 1))
  end
  say('rename', table.concat(lines, ' '))
  vim.lsp.stop_client(client)
  vim.wait(20000, function() return code ~= nil end, 20)
  say('exit', tostring(code))
end)
if not ok then say('error', tostring(problem)) end
io.stdout:write(table.concat(out, '\n') .. '\n')
vim.cmd(ok and 'qall!' or 'cquit!')
