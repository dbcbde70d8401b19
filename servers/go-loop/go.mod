module go-loop

go 1.19
