module leak_go

go 1.19
